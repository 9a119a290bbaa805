"""Brenner."""
