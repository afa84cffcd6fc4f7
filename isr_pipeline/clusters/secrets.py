"""Which of a broker's settings a cluster file has: none that is a secret, an address or a path.

Of a broker's some three hundred keys the simulator knows a few dozen (`kafka.broker_config`); only
those are kept. Of a topic's keys all are kept but those that could hold a secret.
"""

from __future__ import annotations

import re

from isr_pipeline.kafka.broker_config import KEYS

_SECRET = re.compile(
    r"password|passwd|secret|jaas|credential|token|private|keystore|truststore|sasl|ssl|"
    r"\.key$|api[._-]?key|principal|super\.users",
    re.IGNORECASE,
)
_KEY = re.compile(r"[a-z][a-zA-Z0-9._-]{0,199}")


def is_secret(key: str) -> bool:
    """Whether a key may hold what nobody else should read."""
    return _SECRET.search(key) is not None


def of_a_broker(key: str) -> bool:
    """Whether a cluster file has this key of a broker or of the cluster."""
    return key in KEYS


def of_a_topic(key: str) -> bool:
    """Whether a cluster file has this key of a topic."""
    return _KEY.fullmatch(key) is not None and not is_secret(key)
