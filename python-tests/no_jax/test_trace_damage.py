"""Damaged traces are read or refused, and a planted fault is found."""

import itertools

import pytest

from trace_damage import FoundError, check, search, seeds


def test_the_traces_that_are_damaged_are_traces():
    assert all(check(data) for data in seeds())


def test_damaged_traces_are_read_or_refused():
    found = search(1, planted=False)
    read = sum(good for _, good in itertools.islice(found, 4000))
    assert 400 < read < 3600


def test_a_planted_fault_of_the_reader_is_found():
    with pytest.raises(FoundError, match="the planted fault"):
        for _ in itertools.islice(search(1, planted=True), 200_000):
            pass
