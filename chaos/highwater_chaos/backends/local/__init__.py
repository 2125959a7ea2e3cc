"""Backend ``local``: real processes on this machine, with real disks and a real network between them."""
