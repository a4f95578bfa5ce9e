"""Imports one module ahead of time: pools warm their isolates with it."""


def load(name):
    __import__(name)
