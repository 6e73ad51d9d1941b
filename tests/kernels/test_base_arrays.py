"""Working memory: kept within a workspace, by purpose and by thread, and nowhere else."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ordinality.kernels.base import scratch, widened, workspace


def test_memory_is_new_each_time_outside_a_workspace():
    assert not np.shares_memory(scratch(5, "factor"), scratch(5, "factor"))


def test_memory_is_the_same_for_one_purpose_and_size_within_a_workspace():
    with workspace():
        first = scratch(5, "factor")
        assert first.shape == (5, 5)
        assert first.flags.f_contiguous
        assert scratch(5, "factor") is first
        assert not np.shares_memory(scratch(5, "columns"), first)
        larger = scratch(7, "factor")
        assert larger.shape == (7, 7)
        assert not np.shares_memory(larger, first)
    assert scratch(7, "factor") is not larger


def test_a_workspace_within_another_has_its_own_memory_and_gives_the_first_back():
    with workspace():
        outer = scratch(3, "factor")
        with workspace():
            assert scratch(3, "factor") is not outer
        assert scratch(3, "factor") is outer


def test_a_workspace_ends_with_an_error_too():
    try:
        with workspace():
            inside = scratch(3, "factor")
            raise FloatingPointError
    except FloatingPointError:
        pass
    assert scratch(3, "factor") is not inside


def test_threads_do_not_share_memory():
    with workspace(), ThreadPoolExecutor(1) as pool:
        own = scratch(4, "factor")
        theirs = pool.submit(scratch, 4, "factor").result()
        assert not np.shares_memory(own, theirs)


def test_a_box_is_widened_to_hold_the_present_value_and_no_further():
    box = widened([(-1.0, 1.0), (-1.0, 1.0), (-1.0, 1.0)], np.array([-3.0, 0.5, 2.0]))
    np.testing.assert_array_equal(box, [[-3.0, 1.0], [-1.0, 1.0], [-1.0, 2.0]])
