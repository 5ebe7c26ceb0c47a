"""What our figures look like alike: colours, markers, size, and times at axes."""

# told apart by everyone (Okabe and Ito), dark enough for text, and by their markers
STYLES = (("#000000", "o"), ("#0072B2", "s"), ("#D55E00", "^"), ("#009E73", "D"))
SIZE_IN = (11.0, 6.4)


def format_ms(time_ms: float) -> str:
    """Writes a time so that it can be taken in at a glance."""
    if time_ms >= 60_000:
        return f"{time_ms / 60_000:.1f} min"
    if time_ms >= 1000:
        return f"{time_ms / 1000:.1f} s"
    return f"{time_ms:.0f} ms" if time_ms >= 10 else f"{time_ms:.1f} ms"


def format_tick(time_ms: float, _position: int) -> str:
    return f"{time_ms / 1000:g} s" if time_ms >= 1000 else f"{time_ms:g} ms"
