"""The GitHub workflow that pulls failures, as `init` writes it."""

from __future__ import annotations

_HEAD = """\
    runs-on: ubuntu-latest
    timeout-minutes: 60
    steps:
      - uses: actions/checkout@v4.2.2
      - uses: actions/setup-python@v5.3.0
        with:
          python-version: "3.12"
"""

_PULL = """\
# Pulls failed sessions from StateBase before they expire (after 24 hours, if nothing else was said of them), and
# proposes them as a pull request. Their secrets are taken out; look through them all the same before you merge.
name: statebase-pull
on:
  schedule:
    - cron: "17 */6 * * *"
  workflow_dispatch:
permissions:
  contents: write
  pull-requests: write
concurrency: statebase-pull
jobs:
  pull:
{head}\
      - run: pip install "pytest-statebase[pull]=={version}"
      - name: Go on with what was proposed and is not merged yet
        run: |
          if git fetch --depth 1 origin statebase-pull; then
            git switch --create statebase-pull FETCH_HEAD
          else
            git switch --create statebase-pull
          fi
      - name: Pull
        # Twice the time between two runs: what one misses, the next one has.
        run: pytest-statebase pull --failed --since 12h --limit 50{agent} --out {out}
        env:
          STATEBASE_API_KEY: ${{{{ secrets.STATEBASE_API_KEY }}}}
      - name: Propose
        if: always()
        run: |
          git add -- {out}
          if git diff --cached --quiet; then exit 0; fi
          git config user.name "github-actions[bot]"
          git config user.email "41898282+github-actions[bot]@users.noreply.github.com"
          git commit --message "Failed sessions of production"
          git push origin statebase-pull
          if [ -z "$(gh pr list --head statebase-pull --state open --json number --jq '.[]')" ]; then
            gh pr create --head statebase-pull --title "Failed sessions of production" \\
              --body "Which turns failed is a proposal: see \\`failing\\` in each plan, and what it should have been."
          fi
        env:
          GH_TOKEN: ${{{{ github.token }}}}
"""


def pull_workflow(version: str, out: str, agent_id: str | None) -> str:
    """Pulls failures every six hours. out: the directory in the repository; agent_id: whose sessions, None for all."""
    agent = f" --agent {agent_id}" if agent_id else ""
    return _PULL.format(head=_HEAD, version=version, out=out, agent=agent)
