"""``python -m highwater_operator.agent``."""

import sys

from highwater_operator.agent.main import main

sys.exit(main())
