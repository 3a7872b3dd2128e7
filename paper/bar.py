"""A progress bar with the remaining time; plain lines if the output is not a terminal."""
import sys
import time


class Bar:
    def __init__(self, total):
        self.total, self.done, self.start, self.shown = max(total, 1e-9), 0.0, time.monotonic(), 0.0
        self.live = sys.stderr.isatty()

    def advance(self, cost):
        self.done += cost
        now = time.monotonic()
        if now - self.shown < (0.1 if self.live else 10.0):
            return
        self.shown = now
        share = min(self.done / self.total, 1.0)
        left = (now - self.start) * (1 / share - 1) if share > 0 else 0.0
        filled = round(30 * share)
        text = f"[{'█' * filled}{'·' * (30 - filled)}] {100 * share:3.0f} %, {self.clock(left)} left"
        print(f"\r{text}  " if self.live else text, end="" if self.live else "\n", file=sys.stderr, flush=True)

    def end(self):
        if self.live and self.shown:
            print("\r" + " " * 70 + "\r", end="", file=sys.stderr, flush=True)

    @staticmethod
    def clock(seconds):
        return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
