"""Settings for Django's own tests: where the databases are, and how each test ended."""

import json
import os
import unittest
from pathlib import Path
from types import TracebackType
from typing import Any

from django.test.runner import DiscoverRunner

PLACE = {
    "ENGINE": "django.db.backends.postgresql",
    "HOST": os.environ["PGHOST"],
    "PORT": os.environ["PGPORT"],
    "USER": os.environ["PGUSER"],
    "TEST": {"TEMPLATE": "template1"},
}
DATABASES = {name: PLACE | {"NAME": f"django_{name}"} for name in ("default", "other")}
SECRET_KEY = "of the tests"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
TEST_RUNNER = "django_settings.Runner"

Error = tuple[type[BaseException], BaseException, TracebackType]


class Result(unittest.TextTestResult):
    """Keeps how each test ended; of a test with parts one that failed decides."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self.ends: dict[str, tuple[str, str]] = {}

    def keep(self, test: unittest.TestCase, word: str, error: Error | None = None) -> None:
        if self.ends.get(test.id(), ("",))[0] != "failed":
            text = f"{error[0].__name__}: {error[1]}" if error else ""
            self.ends[test.id()] = (word, text)

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().addSuccess(test)
        self.keep(test, "passed")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        super().addSkip(test, reason)
        self.keep(test, "skipped")

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: ANN401, N802
        super().addExpectedFailure(test, err)
        self.keep(test, "skipped")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().addUnexpectedSuccess(test)
        self.keep(test, "failed")

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: ANN401, N802
        super().addFailure(test, err)
        self.keep(test, "failed", err)

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: ANN401, N802
        super().addError(test, err)
        self.keep(test, "failed", err)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:  # noqa: ANN401, N802
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.keep(test, "failed", err)


class Runner(DiscoverRunner):
    def get_resultclass(self) -> type[Result]:
        return Result

    def run_suite(self, suite: unittest.TestSuite, **kwargs: Any) -> Result:  # noqa: ANN401
        result = super().run_suite(suite, **kwargs)
        Path(os.environ["SUITE_RESULT"]).write_text(json.dumps(result.ends))
        return result
