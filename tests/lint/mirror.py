"""supervisor_close() closes the parts of a supervisor in the reverse order of opening. That order
is read from entrypoint/host/supervisor.c: from supervisor_open() on, a function is followed
where it is first called; what is only named there is a callback, and follows at the end of the
function that names it."""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
OPENED = re.compile(r"\b\w+_(?:open|init|start|begin|listen)\(&s->(\w+)")
CLOSED = re.compile(r"\b\w+_(?:close|done)\(&s->(\w+)")
PARTS_LEAST = 15
# A later role of the same process: the same parts, but for downloads.
AGAIN = "begin_again"
# It has no call of its own: mpi_setup_start() finds it.
FOUND_BY = {"mpi_setup": ["mpi_install"]}


def functions(name):
    """Returns the bodies of the functions of a source, by name, without comments and texts."""
    text = (TOP / name).read_text(encoding="utf-8")
    text = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', "", text, flags=re.S)
    return dict(re.findall(r"^\w[^;{}=]*?\b(\w+)\([^;{}]*\) \{\n(.*?)^\}", text, re.M | re.S))


def opened(bodies, name, left_out=()):
    """Returns the members of the supervisor in the order in which NAME opens them."""
    seen, order = {name, *left_out}, []

    def follow(body):
        callbacks = []
        for match in re.finditer(OPENED.pattern + r"|\b(\w+)\b(\(?)", body):
            member, word, call = match.groups()
            if member is not None and member not in order:
                order.extend([member, *FOUND_BY.get(member, [])])
            elif word in bodies and call:
                enter(word)
            elif word in bodies:
                callbacks.append(word)
        for word in callbacks:
            enter(word)

    def enter(word):
        if word not in seen:
            seen.add(word)
            follow(bodies[word])

    follow(bodies[name])
    return order


def main():
    """Returns what is wrong, as lines."""
    bodies = functions("entrypoint/host/supervisor.c")
    check = functions("entrypoint/host/supervisor_check.c")
    first = opened(bodies, "supervisor_open", [AGAIN])
    first += opened(check, "supervisor_examine_port")
    closed = CLOSED.findall(bodies["supervisor_close"])[::-1]
    wrong = []
    if first != closed:
        at = next((i for i, pair in enumerate(zip(first, closed)) if pair[0] != pair[1]),
                  min(len(first), len(closed)))
        wrong.append("supervisor_close: the parts are not closed in the reverse order of opening, "
                     f"from part {at + 1} on: opened {' '.join(first[at:]) or 'none'}; closed, "
                     f"last first, {' '.join(closed[at:]) or 'none'}; make both agree")
    again = opened(bodies, AGAIN)
    if again != [part for part in closed if part in again]:
        wrong.append(f"{AGAIN}: opens {' '.join(again)}, in another order than supervisor_open()")
    if len(closed) < PARTS_LEAST or not again:
        wrong.append(f"only {len(closed)} parts were found; expected {PARTS_LEAST} or more")
    return wrong


if __name__ == "__main__":
    FAULTS = main()
    print("\n".join(FAULTS), end="\n" if FAULTS else "")
    sys.exit(bool(FAULTS))
