"""What Python does not offer of Linux: system calls, ``/proc``, and files that others can change."""
