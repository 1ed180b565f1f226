"""Compares acp-usage's estimates with LiteLLM's own cost_per_token, over LiteLLM's whole list of models.

prices.py DIR: writes the list and a recording below DIR, runs acp-usage over them, and prints each disagreement that
has no reason below, then how many agreed. Exit status 1 where any is left, or nothing was compared.
"""
import collections
import contextlib
import json
import os
import re
import subprocess
import sys

os.environ['LITELLM_LOCAL_MODEL_COST_MAP'] = 'True'
import litellm  # noqa: E402

# input beside the cache, cache read, cache written, output: below and above every tier
CALLS = [(1000, 0, 0, 500), (90_000, 5_000, 7_000, 900), (110_000, 10_000, 5_000, 100), (100_000, 40_000, 20_000, 1000),
         (150_000, 60_000, 20_000, 1), (200_000, 50_000, 15_000, 77), (900_000, 50_000, 50_000, 4000)]


def message(call, model, n):
    fresh, read, write, output = call
    counts = {'totalTokens': sum(call), 'inputTokens': fresh, 'outputTokens': output, 'cachedReadTokens': read,
              'cachedWriteTokens': write}
    session = f's{n}'
    yield {'jsonrpc': '2.0', 'id': f'n{n}', 'method': 'session/new', 'params': {'cwd': '/', 'mcpServers': []}}
    yield {'jsonrpc': '2.0', 'id': f'n{n}', 'result': {'sessionId': session}}
    yield {'jsonrpc': '2.0', 'id': n, 'method': 'session/prompt',
           'params': {'sessionId': session, 'prompt': [{'type': 'text', 'text': 'x'}]}}
    yield {'jsonrpc': '2.0', 'id': n, 'result': {'stopReason': 'end_turn', 'usage': counts, '_meta': {'quota': {
        'token_count': counts, 'model_usage': [{'model': model, 'token_count': counts}]}}}}


def theirs(model, call):
    """LiteLLM's cost. It charges nothing for written tokens that have no price; acp-usage charges them as other input."""
    fresh, read, write, output = call
    names = re.findall(r'^cache_creation_input_token_cost(?:_above_(\d+)k_tokens)?$', '\n'.join(litellm.model_cost[model]), re.M)
    priced = any(1000 * int(above or 0) < fresh + read + write for above in names)
    return sum(litellm.cost_per_token(model=model, prompt_tokens=fresh + read + write, completion_tokens=output,
                                      cache_creation_input_tokens=write if priced else 0, cache_read_input_tokens=read))


def listed():
    """The models that are paid for by token, but for providers that LiteLLM would log in to."""
    return {name: entry for name, entry in litellm.model_cost.items()
            if entry.get('mode') in ('chat', 'responses') and name != 'sample_spec'
            and entry.get('litellm_provider') not in ('github_copilot', 'chatgpt')
            and (entry.get('tiered_pricing') or None not in (entry.get('input_cost_per_token'),
                                                             entry.get('output_cost_per_token')))}


def reason(model, call):
    """Why LiteLLM's figure is another."""
    entry = litellm.model_cost[model]
    if 'off_peak_pricing' in entry:
        return 'the hour counts'
    if entry['litellm_provider'] == 'fireworks_ai' and 'cache_read_input_token_cost' not in entry:
        return 'fireworks_ai: cached tokens without a price at half of it'
    if entry['litellm_provider'] == 'perplexity' and call[1]:
        return 'perplexity: cached tokens as other input'
    return None


def main():
    os.chdir(sys.argv[1])
    prices = listed()
    with open('prices.json', 'w') as f:
        json.dump(prices, f)
    rows = [(name, call) for name in prices for call in CALLS]
    with open('calls.jsonl', 'w') as f:
        for n, (name, call) in enumerate(rows):
            for m in message(call, name, n):
                f.write(json.dumps(m) + '\n')
    out = subprocess.run(['acp-usage', '--prices', 'prices.json', '--summary', '-f', 'json', 'calls.jsonl'],
                         stdout=subprocess.PIPE, check=True, text=True).stdout
    ours = {s['session']: s.get('estimate') for s in map(json.loads, out.splitlines()) if 'session' in s}
    counts = collections.Counter()
    for n, (name, call) in enumerate(rows):
        try:
            with contextlib.redirect_stdout(sys.stderr):
                want = theirs(name, call)
        except Exception:  # LiteLLM has many
            counts['LiteLLM does not map its own name'] += 1
            continue
        got = ours.get(f's{n}')
        if got is not None and abs(got - want) < 0.005:
            counts['agree'] += 1
            continue
        why = reason(name, call)
        counts[why or 'differ'] += 1
        if not why:
            print(f'{name}: {call}: LiteLLM {want:.6f}, acp-usage {got}')
    print(dict(counts))
    sys.exit(counts['differ'] > 0 or counts['agree'] == 0)


main()
