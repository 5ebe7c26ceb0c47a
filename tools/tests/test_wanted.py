"""Which tests a part of a run has."""

import pytest
from lib.testrun.installed import ROOT, Installed, release_server, servers_of_part
from lib.testrun.wanted import Wanted, long_tests


def test_make_test_needs_one_server() -> None:
    usual, rest = servers_of_part("usual"), servers_of_part("rest")
    assert usual == (release_server(),)
    assert rest == servers_of_part("all")
    assert rest[-1] == "18"


@pytest.mark.parametrize("share", [100, 1])
def test_a_named_test_is_always_chosen(share: int) -> None:
    assert Wanted(("join_groups",), share=share).choose("sql") == ["join_groups"]


def test_a_share_takes_some_regression_tests_and_all_others() -> None:
    everything, some = Wanted(()), Wanted((), share=30)
    chosen, found = some.choose("sql"), everything.choose("sql")
    assert chosen
    assert set(chosen) < set(found)
    assert some.choose("specs") == everything.choose("specs")


def test_long_tests_are_there() -> None:
    folders = {"tap": "test/t", "regress": "test/sql", "isolation": "test/specs"}
    folders["pytest"] = "python/tests"  # those of tools/tests run once
    for kind, folder in folders.items():
        known = {path.stem for path in (ROOT / folder).iterdir()}
        assert long_tests(kind) <= known, kind


def test_the_parts_have_each_test_of_each_server_once() -> None:
    release, newest = (Installed(name, ROOT, ROOT) for name in ("15", "18"))
    usual, rest = Wanted((), part="usual"), Wanted((), part="rest")
    for name in ("commit_kill", "commit_bank"):
        on_release = [part.is_in_part("tap", release, name) for part in (usual, rest)]
        assert sorted(on_release) == [False, True]
        assert rest.is_in_part("tap", newest, name)
    assert Wanted(("commit_kill",), part="usual").is_in_part("tap", release, "commit_kill")


def test_make_test_has_most_tests_and_all_topics() -> None:
    topics, usual_topics = set(), set()
    for kind, folder in {"tap": "t", "regress": "sql", "isolation": "specs"}.items():
        found = Wanted(()).choose(folder)
        usual = [name for name in found if name not in long_tests(kind)]
        assert len(usual) > 0.75 * len(found)
        topics |= {name.split("_")[0] for name in found}
        usual_topics |= {name.split("_")[0] for name in usual}
    assert usual_topics == topics
