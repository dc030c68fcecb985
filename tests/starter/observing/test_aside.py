"""Work aside: in order, bounded, errors in their place, nothing that was given lost."""

import threading
import time

import pytest

from starter.observing.aside import aside


@pytest.mark.parametrize("most", [0, 2])
def test_results_come_in_order_and_few_items_are_taken_ahead(most):
    taken = []
    items = (taken.append(n) or n for n in range(20))
    for number, (result, thread) in enumerate(aside(lambda n: (n * n, threading.get_ident()), items, most)):
        assert result == number * number
        assert (thread == threading.get_ident()) == (most == 0)
        assert len(taken) <= number + 1 + most
    assert number == 19


@pytest.mark.parametrize("most", [0, 2])
def test_an_error_comes_after_the_results_before_it(most):
    results = aside(lambda n: 1 // (2 - n), range(9), most)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_what_was_given_is_done_when_the_caller_stops():
    done = []
    results = aside(lambda n: (time.sleep(0.02), done.append(n)), range(9), 2)
    next(results)
    results.close()
    assert sorted(done) == [0, 1, 2]
