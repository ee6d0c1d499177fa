"""Errors of sinter.jit: what is wrong, where, and what to do."""

import numpy as np
import pytest

import sinter
import sinter.array_api as xp
from api_cases import floats, jit


class TestErrors:
    def test_if_on_a_tensor_says_where_and_what_to_do(self):
        def f(x):
            if xp.sum(x) > 0:
                return x
            return -x

        line = f.__code__.co_firstlineno + 1
        with pytest.raises(sinter.UserError, match=rf"test_jit_errors.py:{line}: a condition needs the value of.*where\(condition, a, b\)"):
            jit(f)(floats(3))

    def test_uses_of_values_are_errors(self):
        for use in (float, int, bool, lambda x: range(x), lambda x: [1, 2][x]):
            with pytest.raises((sinter.UserError, TypeError), match="needs the value"):
                jit(lambda x: use(xp.sum(x)))(floats(3))

    def test_assignments_are_errors(self):
        def f(x):
            x[0] = 1.0

        with pytest.raises(TypeError, match="cannot be changed in place; use sinter.where"):
            jit(f)(floats(3))

    def test_uses_of_numbers_are_errors_that_name_them(self):
        for use in (lambda n: range(n), float, bool, lambda n: [0] * n):
            with pytest.raises(sinter.UserError, match=r"value of `steps`.*static_argnames=\('steps',\)"):
                jit(lambda x, steps: use(steps))(floats(3), 3)

    def test_other_arguments_are_errors(self):
        with pytest.raises(sinter.UserError, match="class object is neither an array nor a number.*static_argnames"):
            jit(lambda x: x)(object())
        with pytest.raises(sinter.UserError, match="a static argument must be hashable, and list is not; pass a tuple"):
            jit(lambda x, axes: x, static_argnames="axes")(floats(2), [0])
        with pytest.raises(sinter.UserError, match="x: .*sinter has no dtype"):
            jit(lambda x: x)(np.array(["a"]))
        with pytest.raises(sinter.UserError, match="x: .*order of another machine.*newbyteorder"):
            jit(lambda x: x)(floats(2).astype(">f4"))

    def test_wrong_settings_are_errors(self):
        with pytest.raises(sinter.UserError, match=r"static_argnames: 'y' is no parameter of .*\(x\)"):
            jit(lambda x: x, static_argnames="y")
        with pytest.raises(sinter.UserError, match="axes: 'y' is no parameter"):
            jit(lambda x: x, axes={"y": "n"})
        with pytest.raises(sinter.UserError, match="'2n' is no name of an axis"):
            jit(lambda x: x, axes={"x": ("2n",)})
        with pytest.raises(sinter.UserError, match="axes of x: .* names 2 axes, and the array has 1"):
            jit(lambda x: x, axes={"x": "n, m"})(floats(2))
        with pytest.raises(sinter.UserError, match="x has the size 4 along axis 1; .* says 3"):
            jit(lambda x: x, axes={"x": "n, 3"})(floats(2, 4))
        with pytest.raises(sinter.UserError, match="axes of x: 'v' is no key of the dict; its keys are 'w'"):
            jit(lambda x: x, axes={"x": {"v": "n"}})({"w": floats(2)})
        with pytest.raises(sinter.UserError, match=r"axes of x: .* does not have the structure of the argument, a tuple of 1"):
            jit(lambda x: x, axes={"x": ["n, _", "n"]})((floats(2),))
        with pytest.raises(sinter.UserError, match="axes of x: .* is for a container, and the argument is an array"):
            jit(lambda x: x, axes={"x": {"v": "n"}})(floats(2))
        with pytest.raises(sinter.UserError, match="max_signatures must be at least 1"):
            jit(lambda x: x, max_signatures=0)

    def test_different_sizes_under_one_name_are_an_error(self):
        f = jit(lambda x, y: x + y, axes={"x": "n", "y": "n"})
        f(floats(3), floats(3))
        with pytest.raises(sinter.UserError, match="n"):
            f(floats(3), floats(4))

    def test_an_error_leaves_the_thread_without_a_trace(self):
        with pytest.raises(ZeroDivisionError):
            jit(lambda x: 1 / 0)(floats(2))
        np.testing.assert_array_equal(jit(lambda x: x)(floats(2)), floats(2))

    def test_results_that_are_no_arrays_are_errors(self):
        with pytest.raises(sinter.UserError, match=r"result\['a'\] of the function is of the class set; return arrays"):
            jit(lambda x: {"a": {1, 2}})(floats(2))

        def generate(x):
            yield x

        with pytest.raises(sinter.UserError, match="generate is a generator or a coroutine"):
            jit(generate)
        with pytest.raises(sinter.UserError, match="jit takes a function, not 3"):
            jit(3)

    def test_masked_arrays_are_errors(self):
        with pytest.raises(sinter.UserError, match=r"x: it is a masked array; pass x.filled\(value\)"):
            jit(lambda x: x)(np.ma.array([1.0, 2.0], mask=[False, True]))
