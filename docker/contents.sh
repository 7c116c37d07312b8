#!/bin/sh
# Lists the contents of an image, or of any folder that holds a system. The same contents give the
# same list, byte for byte, wherever and whenever it is made.
#
#   sh docker/contents.sh manifest [ROOT]   a line per file: type, mode, owner, SHA-256 or link
#                                           target, path
#   sh docker/contents.sh sbom [ROOT]       an SPDX 2.3 document in JSON: the distribution's
#                                           packages and the files in /usr/local with their SHA-256;
#                                           software there that has a version of its own (oneDNN) is
#                                           listed as a package, too
#
# ROOT is / by default. File times are left out, and so are files that differ from image to image on
# purpose (the seed) or belong to a running system. A minimal Debian has all the tools it needs.
set -eu
export LC_ALL=C

usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 64; }
verb=${1:-}
root=${2:-/}
case $verb in manifest | sbom) ;; *) usage ;; esac
[ -d "$root" ] || { echo "contents.sh: $root is no folder" >&2; exit 66; }
cd "$root"

# Leaves out the kernel's file systems, files that are written at start-up, and the seed.
files() {
    find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./run -o -path ./tmp \
        -o -path ./etc/ringmaster/seed -o -path ./etc/hostname -o -path ./etc/hosts \
        -o -path ./etc/resolv.conf -o -path ./.dockerenv -o -path ./etc/mtab \
        -o -path ./var/cache/ldconfig/aux-cache \
        -o -path ./usr/local/share/doc/ringmaster/sbom.spdx.json \) \
        -prune -o "$@"
}

# A file name may have any character but a newline; files with a newline in the name are left out.
manifest() {
    {
        files ! -type f ! -type l -printf '%y %m %U:%G - %p\n'
        files -type l -printf '%y - %U:%G %l %p\n'
        # The sums come out in the order of the paths.
        files -type f ! -name '*
*' -printf '%p\n' | sort >"$list"
        tr '\n' '\0' <"$list" | xargs -0r stat -c 'f %a %u:%g' >"$list.modes"
        tr '\n' '\0' <"$list" | xargs -0r sha256sum | sed 's/^\\//; s/ .*//' >"$list.sums"
        paste -d ' ' "$list.modes" "$list.sums" "$list"
    } | sort -k 5
}

# --- SPDX ---------------------------------------------------------------------------------------

# Prints name, version, architecture and source of each installed package, separated by tabs.
packages() {
    [ -e var/lib/dpkg/status ] || return 0
    awk -v RS= -v FS='\n' -v OFS='\t' '{
        name = version = from = arch = ""; good = 0
        for (i = 1; i <= NF; i++) {
            if ($i ~ /^Package: /) name = substr($i, 10)
            else if ($i ~ /^Version: /) version = substr($i, 10)
            else if ($i ~ /^Source: /) { from = substr($i, 9); sub(/ .*/, "", from) }
            else if ($i ~ /^Architecture: /) arch = substr($i, 15)
            else if ($i == "Status: install ok installed") good = 1
        }
        if (good) print name, version, arch, from == "" ? name : from
    }' var/lib/dpkg/status | sort
}

# Prints name, version, licence, purl and file below /usr/local of all other versioned software,
# from the `package` file that its installation left beside its licence.
brought() {
    for paper in usr/local/share/doc/*/package; do
        [ ! -f "$paper" ] || cat "$paper"
    done | sort
}

# Prints SHA-256 and path of each file that belongs to no package of the distribution.
own_files() {
    [ -d usr/local ] || return 0
    files -path './usr/local/*' -type f ! -name '*
*' -printf '%p\n' | sort | tr '\n' '\0' | xargs -0r sha256sum
}

# SPDX requires a time: SOURCE_DATE_EPOCH if it is set, else 1970, which means nothing.
created() { date -u -d "@${SOURCE_DATE_EPOCH:-0}" +%Y-%m-%dT%H:%M:%SZ; }

sbom() {
    packages >"$list.packages"
    own_files >"$list.own"
    brought >"$list.brought"
    sum=$(cat "$list.packages" "$list.own" "$list.brought" | sha256sum | cut -c 1-32)
    distribution=$(sed -n 's/^ID=//p' etc/os-release 2>/dev/null | tr -d '"' || :)
    awk -F '\t' -v sum="$sum" -v created="$(created)" -v distribution="${distribution:-debian}" \
        -v own="$list.own" -v brought="$list.brought" '
    function quoted(text) {
        gsub(/\\/, "\\\\", text); gsub(/"/, "\\\"", text); gsub(/[\001-\037]/, "?", text)
        return "\"" text "\""
    }
    function id(text) { gsub(/[^A-Za-z0-9.-]/, "-", text); return "SPDXRef-" text }
    function url(text) {
        gsub(/\+/, "%2B", text); gsub(/:/, "%3A", text); gsub(/~/, "%7E", text)
        return text
    }
    BEGIN {
        print "{\"spdxVersion\":\"SPDX-2.3\",\"dataLicense\":\"CC0-1.0\"," \
            "\"SPDXID\":\"SPDXRef-DOCUMENT\","
        print "\"name\":\"ringmaster\"," \
            "\"documentNamespace\":\"https://spdx.org/spdxdocs/ringmaster-" sum "\","
        print "\"creationInfo\":{\"created\":" quoted(created) \
            ",\"creators\":[\"Tool: contents.sh\"]},"
        print "\"packages\":["
        printf "{\"name\":\"ringmaster\",\"SPDXID\":\"SPDXRef-ringmaster\"," \
            "\"downloadLocation\":\"NOASSERTION\","
        printf "\"filesAnalyzed\":false,\"licenseDeclared\":\"Apache-2.0\"," \
            "\"copyrightText\":\"NOASSERTION\"}"
    }
    {
        count++
        ids[count] = id("package-" $1 "-" $3)
        printf ",\n{\"name\":%s,\"SPDXID\":%s,\"versionInfo\":%s," \
            "\"downloadLocation\":\"NOASSERTION\",", \
            quoted($1), quoted(ids[count]), quoted($2)
        printf "\"filesAnalyzed\":false,\"sourceInfo\":%s,\"copyrightText\":\"NOASSERTION\",", \
            quoted("built from " $4)
        printf "\"externalRefs\":[{\"referenceCategory\":\"PACKAGE-MANAGER\"," \
            "\"referenceType\":\"purl\","
        printf "\"referenceLocator\":%s}]}", \
            quoted("pkg:deb/" distribution "/" url($1) "@" url($2) "?arch=" $3)
    }
    END {
        while ((getline line < brought) > 0) {
            split(line, part, "\t")
            count++
            ids[count] = id("brought-" part[1])
            owner["./usr/local/" part[5]] = ids[count]
            printf ",\n{\"name\":%s,\"SPDXID\":%s,\"versionInfo\":%s," \
                "\"downloadLocation\":\"NOASSERTION\",", \
                quoted(part[1]), quoted(ids[count]), quoted(part[2])
            printf "\"filesAnalyzed\":false,\"licenseDeclared\":%s," \
                "\"copyrightText\":\"NOASSERTION\",", quoted(part[3])
            printf "\"externalRefs\":[{\"referenceCategory\":\"PACKAGE-MANAGER\"," \
                "\"referenceType\":\"purl\","
            printf "\"referenceLocator\":%s}]}", quoted(part[4])
        }
        print "\n],\"files\":["
        while ((getline line < own) > 0) {
            sub(/^\\/, "", line)
            path = substr(line, 67)
            many++
            holder[many] = path in owner ? owner[path] : "SPDXRef-ringmaster"
            file[many] = id("file-" substr(line, 1, 16) "-" many)
            printf "%s{\"fileName\":%s,\"SPDXID\":%s," \
                "\"checksums\":[{\"algorithm\":\"SHA256\",\"checksumValue\":\"%s\"}],", \
                (many == 1 ? "" : ",\n"), quoted(path), quoted(file[many]), substr(line, 1, 64)
            printf "\"copyrightText\":\"NOASSERTION\"}"
        }
        print "\n],\"relationships\":["
        printf "{\"spdxElementId\":\"SPDXRef-DOCUMENT\",\"relationshipType\":\"DESCRIBES\"," \
            "\"relatedSpdxElement\":\"SPDXRef-ringmaster\"}"
        for (i = 1; i <= many; i++)
            printf ",\n{\"spdxElementId\":%s,\"relationshipType\":\"CONTAINS\"," \
                "\"relatedSpdxElement\":%s}", quoted(holder[i]), quoted(file[i])
        for (i = 1; i <= count; i++)
            printf ",\n{\"spdxElementId\":\"SPDXRef-ringmaster\"," \
                "\"relationshipType\":\"DEPENDS_ON\"," \
                "\"relatedSpdxElement\":%s}", quoted(ids[i])
        print "\n]}"
    }' "$list.packages"
}

list=$(mktemp "${TMPDIR:-/tmp}/ringmaster-contents.XXXXXX")
trap 'rm -f "$list" "$list".*' EXIT
"$verb"
