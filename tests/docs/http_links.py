"""Whether addresses of the web answer, for links.py --http.

An address is dead if two requests, with a pause between them, both fail: no such host, no answer,
or a status that says that the page is gone or broken. Sites that refuse programs (401, 403, 429)
prove nothing."""
import concurrent.futures
import http.client
import time
import urllib.error
import urllib.request

SECONDS, PAUSE, AT_ONCE = 30, 60, 4
AGENT = "Mozilla/5.0 (links of a documentation)"
REFUSED = (401, 403, 429)
NO_HEAD = (400, 404, 405, 501)  # some sites answer only GET


def status(address, method):
    """Returns the status of ADDRESS after redirections, or the reason why there is none."""
    request = urllib.request.Request(address, method=method, headers={"User-Agent": AGENT})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except (OSError, http.client.HTTPException, ValueError) as error:
        return str(getattr(error, "reason", error)) or type(error).__name__


def fault(address):
    """Returns what is wrong with ADDRESS, or None."""
    found = status(address, "HEAD")
    if found in NO_HEAD:
        found = status(address, "GET")
    return None if found in REFUSED or isinstance(found, int) and found < 400 else found


def dead(addresses, pause=PAUSE):
    """Returns those of ADDRESSES that fail twice, with what is wrong with each."""
    for again in (False, True):
        if again and addresses:
            time.sleep(pause)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            faults = dict(zip(addresses, pool.map(fault, addresses)))
        addresses = [address for address in addresses if faults[address] is not None]
    return {address: faults[address] for address in addresses}
