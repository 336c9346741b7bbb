"""Benchmarks: the API, growth, memory, the back office and page calls.

How and what they measure: docs/performance.md.
"""
