# SPDX-License-Identifier: Apache-2.0
"""Parts of bench/compare.py: conditions, datasets, measuring, tools, report."""
