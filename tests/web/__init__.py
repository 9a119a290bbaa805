"""Tests of the web pages: a package, so that one browser serves all of them."""
