"""The one name of test.test_import that other test files use."""


def no_rerun(reason):
    """Every test runs once here anyway."""
    return lambda decorated: decorated
