"""Which tests a part of a run has."""

from testrun.wanted import Wanted


def chosen(part: str, server: str) -> set[str]:
    return set(Wanted((), part=part, sampled=("15",)).choose("sql", server))


def test_usual_and_rest_have_each_test_of_an_older_server_once() -> None:
    usual, rest = chosen("usual", "15"), chosen("rest", "15")
    assert usual
    assert rest
    assert not usual & rest
    assert usual | rest == chosen("all", "15") == chosen("usual", "18")


def test_a_named_test_is_always_chosen() -> None:
    for part in ("usual", "rest"):
        wanted = Wanted(("join_groups",), part=part, sampled=("15",))
        assert wanted.choose("sql", "15") == ["join_groups"]


def test_a_share_takes_some_regression_tests_and_all_others() -> None:
    everything, some = Wanted(()), Wanted((), share=30)
    chosen, found = some.choose("sql", "18"), everything.choose("sql", "18")
    assert chosen
    assert set(chosen) < set(found)
    assert chosen == some.choose("sql", "15")
    assert some.choose("specs", "18") == everything.choose("specs", "18")
