"""Steps in time: deterministic processes that inject, wait, await and heal."""
