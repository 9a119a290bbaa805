"""Who has logged in to the lab."""

from typing import NamedTuple


class Login(NamedTuple):
    """The operator, logged in. The form token stands in every form: no other page knows it."""

    operator: str
    form_token: str
