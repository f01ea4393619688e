"""Signals that arrive as events, and a loop that is woken."""

import os
import selectors
import signal
import threading

import pytest

from smgcfg.launch.signals import STOPPING, Waker, signals_to


def test_signals_arrive_in_the_loop() -> None:
    """Each stopping signal is taken once per arrival, in order, in the loop and not in a handler."""
    selector = selectors.DefaultSelector()
    taken: list[int] = []
    with signals_to(taken.append, selector):
        for signum in (*STOPPING, signal.SIGTERM):
            os.kill(os.getpid(), signum)
        assert taken == []
        for key, mask in selector.select(1.0):
            key.data(mask)
    assert taken == [*STOPPING, signal.SIGTERM]


def test_handlers_are_as_before_afterwards() -> None:
    """When the context is left, the signals do again what they did before."""
    before = [signal.getsignal(signum) for signum in STOPPING]
    with signals_to(lambda _: None, selectors.DefaultSelector()):
        assert [signal.getsignal(signum) for signum in STOPPING] != before
    assert [signal.getsignal(signum) for signum in STOPPING] == before
    assert signal.set_wakeup_fd(-1) == -1


@pytest.mark.parametrize(("signum", "ignored"), [(signal.SIGHUP, True), (signal.SIGINT, False)])
def test_ignored_hangup_stays_ignored(signum: signal.Signals, ignored: bool) -> None:
    """Under nohup a hangup is nothing; a script's background job, which ignores SIGINT, still takes one."""
    before = signal.signal(signum, signal.SIG_IGN)
    try:
        with signals_to(lambda _: None, selectors.DefaultSelector()):
            assert (signal.getsignal(signum) == signal.SIG_IGN) == ignored
        assert signal.getsignal(signum) == signal.SIG_IGN
    finally:
        signal.signal(signum, before)


def test_waker_wakes_another_thread() -> None:
    """A loop that waits for ever is woken from another thread, and calls back in its own."""
    selector = selectors.DefaultSelector()
    called: list[int] = []
    waker = Waker(lambda: called.append(threading.get_ident()), selector)
    timer = threading.Timer(0.05, waker.wake_up)
    timer.start()
    for key, mask in selector.select(5.0):
        key.data(mask)
    assert called == [threading.get_ident()]
    timer.join()
    waker.close()
