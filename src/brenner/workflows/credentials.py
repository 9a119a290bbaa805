"""How programs are handed what they must not write down: the names of variables and headers.

A token says who may talk to a server at all, a secret who somebody is.
"""

TOKEN = "BRENNER_TOKEN"  # noqa: S105  (the name of a variable)
SECRET = "BRENNER_SECRET"  # noqa: S105  (as above)
SECRET_HEADER = "Brenner-Secret"  # noqa: S105  (the name of a header)
