"""A hook for mkdocs that turns links to files of the repository outside docs/ into their paths."""
import posixpath
import re


def on_page_markdown(markdown, page, **_):
    folder = posixpath.dirname(posixpath.join("docs", page.file.src_uri))

    def plain(link):
        path = posixpath.normpath(posixpath.join(folder, link.group(2).split("#")[0]))
        return link.group(0) if path.startswith("docs/") else f"`{path}`"

    return re.sub(r"\[([^\]]+)\]\((\.\./[^)\s]+)\)", plain, markdown)
