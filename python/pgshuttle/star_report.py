"""What a star join costs with and without looking ahead: units and tables."""

from rich.table import Table

from pgshuttle.star import Measured, Star

HEAD = {
    "format": 1,
    "units": {
        "elapsed_ms": "milliseconds of one execution, seen by its client; planned before",
        "time_ms": "milliseconds: of cold runs the median, of cached ones the shortest",
        "npages": "pages of 8 kB that were read into shared buffers",
        "disk_bytes": "bytes that the disk had to read for the server's processes meanwhile",
        "concurrency": "effective_io_concurrency; 0: without looking ahead",
        "ratio": "time_ms with looking ahead / without",
        "bound": "that ratio is to be at most",
    },
}


def name_method(io_method: str) -> str:
    """Names how a server reads."""
    return io_method or "before 18"


def make_tables(found: Star) -> list[Table]:
    """A row for each plan that looks ahead."""
    joins = {(j.state, j.io_method, j.ndimensions, j.concurrency): j for j in found.joins}
    table = Table("pages", "io_method", "dimensions", "concurrency", "pages read")
    for name in ("plain ms", "ahead ms", "ratio", "at most", "verdict"):
        table.add_column(name, justify="right")
    table.title = f"Star join of {found.nsampled} rows, {found.data_mb:.0f} MB"
    for ratio in found.ratios:
        where = (ratio.state, ratio.io_method, ratio.ndimensions)
        plain, ahead = joins[(*where, 0)], joins[(*where, ratio.concurrency)]
        table.add_row(
            ratio.state,
            name_method(ratio.io_method),
            str(ratio.ndimensions),
            str(ratio.concurrency),
            str(count_pages(plain)),
            f"{plain.time_ms:.1f}",
            f"{ahead.time_ms:.1f}",
            f"{ratio.ratio:.3f}",
            f"{ratio.bound:g}",
            "ok" if ratio.ok else "[red]MISSED[/red]",
        )
    return [table]


def count_pages(join: Measured) -> int:
    """Returns how many pages a run of a join read, at most."""
    return max(sample.npages for sample in join.samples)
