"""Every record of tests/mutation/equivalent.txt has its two lines in its file. A record whose lines
have changed excuses nothing any more, and its mutant comes back as a survivor."""
import os
import pathlib
import sys

sys.dont_write_bytecode = True
TOP = pathlib.Path(__file__).resolve().parents[2]
os.chdir(TOP)
sys.path.insert(0, str(TOP / "tests/mutation"))
import equivalent

RECORDS_LEAST = 40

known = equivalent.read()
stale = equivalent.stale(known)
for one in stale:
    print(f"{equivalent.LIST}: {one}: this line, below the one of the record, is not in the file; "
          "adapt the record, or remove it if the mutant is gone")
if len(known) < RECORDS_LEAST:
    print(f"{equivalent.LIST}: {len(known)} records were read; expected {RECORDS_LEAST} or more")
sys.exit(bool(stale) or len(known) < RECORDS_LEAST)
