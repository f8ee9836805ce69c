"""The GitHub workflows of pull requests, as `init` writes them: one replays, the other comments.

The first runs the code of whoever proposes a change, and may do nothing but read. The second may comment, and runs
nothing of the change: results are all that it takes from the first, and it reads them as data.
"""

from __future__ import annotations

REPLAY = """\
# Replays the recorded sessions against a change. It needs no key: tools are answered from the recordings.
# It runs the code of whoever proposes the change, so it may do nothing but read. Its results are an artifact.
name: statebase-replay
on:
  pull_request:
  push:
    branches: [main, master]
permissions:
  actions: read
  contents: read
concurrency:
  group: statebase-replay-${{ github.ref }}
  cancel-in-progress: ${{ github.event_name == 'pull_request' }}
defaults:
  run:
    shell: bash  # with pipefail, which GitHub's default has not
jobs:
  replay:
    runs-on: ubuntu-latest
    timeout-minutes: 15
    steps:
      - uses: actions/checkout@v4.2.2
        with:
          persist-credentials: false
      - uses: actions/setup-python@v5.3.0
        with:
          python-version: "3.12"
      - name: Fetch what the base branch came to
        continue-on-error: true
        run: |
          for run in $(gh run list --workflow statebase-replay.yml --branch "$BASE" --event push --status completed \\
              --limit 5 --json databaseId --jq '.[].databaseId'); do
            if gh run download "$run" --name statebase-results --dir base; then break; fi
          done
          if [ -f base/statebase-history.jsonl ]; then cp base/statebase-history.jsonl .; fi
        env:
          BASE: ${{ github.base_ref || github.ref_name }}
          GH_REPO: ${{ github.repository }}
          GH_TOKEN: ${{ github.token }}
      # The project with what its agent needs, and pytest-statebase.
      - run: pip install . "pytest-statebase==VERSION"
      - name: Replay
        run: |
          if [ -f base/statebase-results.jsonl ]; then
            set -- --statebase-base-results=base/statebase-results.jsonl
          fi
          pytest --statebase-replay --statebase-results=statebase-results.jsonl \\
            --statebase-history=statebase-history.jsonl --junitxml=statebase-junit.xml "$@"
      - if: always()
        uses: actions/upload-artifact@v4.4.3
        with:
          name: statebase-results
          path: |
            statebase-report.html
            statebase-results.jsonl
            statebase-history.jsonl
            statebase-junit.xml
          if-no-files-found: ignore
"""

COMMENT = """\
# Says on a pull request what its replay came to, in one comment that it keeps up to date.
# It may comment, also on pull requests of forks. So it checks nothing out and runs nothing of them: it takes results,
# reads them as data, and asks GitHub, not them, which pull request they belong to.
name: statebase-comment
on:
  workflow_run:
    workflows: [statebase-replay]
    types: [completed]
permissions:
  actions: read
  pull-requests: write
concurrency:
  group: comment-${{ github.event.workflow_run.head_repository.id }}-${{ github.event.workflow_run.head_branch }}
  cancel-in-progress: true
defaults:
  run:
    shell: bash  # with pipefail, which GitHub's default has not
jobs:
  comment:
    if: github.event.workflow_run.event == 'pull_request'
    runs-on: ubuntu-latest
    timeout-minutes: 10
    env:
      GH_REPO: ${{ github.repository }}
      GH_TOKEN: ${{ github.token }}
    steps:
      - name: Find the open pull request that stands at this commit
        id: pull
        run: |
          found=$(gh api --method GET "repos/$GH_REPO/pulls" -f state=open -f head="$OWNER:$BRANCH" --jq \\
            '[.[] | select(.head.sha == env.SHA and .head.repo.full_name == env.HEAD)][0] // empty
            | "\\(.number) \\(.base.ref)"')
          if [[ "$found" =~ ^([0-9]+)\\ ([^[:space:]]+)$ ]]; then
            echo "number=${BASH_REMATCH[1]}" >> "$GITHUB_OUTPUT"
            echo "base=${BASH_REMATCH[2]}" >> "$GITHUB_OUTPUT"
          else
            echo "No open pull request stands at $SHA."
          fi
        env:
          OWNER: ${{ github.event.workflow_run.head_repository.owner.login }}
          HEAD: ${{ github.event.workflow_run.head_repository.full_name }}
          BRANCH: ${{ github.event.workflow_run.head_branch }}
          SHA: ${{ github.event.workflow_run.head_sha }}
      - name: Fetch its results, and those of its base branch
        id: results
        if: steps.pull.outputs.number
        run: |
          ulimit -f 500000  # blocks of 1,024 bytes: no results are that large
          there=$(gh api --method GET "repos/$GH_REPO/actions/runs/$RUN/artifacts" -f name=statebase-results \\
            --jq .total_count)
          if [ "$there" = 0 ]; then
            echo "The run has no results."
            exit 0
          fi
          gh run download "$RUN" --name statebase-results --dir "$RUNNER_TEMP/change"
          echo "found=true" >> "$GITHUB_OUTPUT"
          for run in $(gh run list --workflow statebase-replay.yml --branch "$BASE" --event push --status completed \\
              --limit 5 --json databaseId --jq '.[].databaseId'); do
            if gh run download "$run" --name statebase-results --dir "$RUNNER_TEMP/base"; then break; fi
          done
        env:
          RUN: ${{ github.event.workflow_run.id }}
          BASE: ${{ steps.pull.outputs.base }}
      - uses: actions/setup-python@v5.3.0
        if: steps.results.outputs.found
        with:
          python-version: "3.12"
      - name: Write the comment
        id: write
        if: steps.results.outputs.found
        run: |
          cd "$RUNNER_TEMP"
          pip install --quiet "pytest-statebase==VERSION"
          if [ -f base/statebase-results.jsonl ]; then
            set -- --base-results base/statebase-results.jsonl
          fi
          pytest-statebase report merge change/statebase-results.jsonl --summary comment.md "$@" > merge.log 2>&1 ||
            true  # It fails also where something was left out, of which the comment tells.
          if [ ! -s comment.md ]; then
            printf '<!-- pytest-statebase -->\\n### The results could not be read\\n' > comment.md
            echo "unread=true" >> "$GITHUB_OUTPUT"
          fi
          printf '\\n[The run, with the report as an artifact](%s)\\n' "$URL" >> comment.md
        env:
          URL: ${{ github.event.workflow_run.html_url }}
      - name: Comment
        if: steps.results.outputs.found
        run: |
          id=$(gh api --paginate "repos/$GH_REPO/issues/$NUMBER/comments?per_page=100" --jq '.[]
            | select(.user.login == "github-actions[bot]" and (.body | startswith("<!-- pytest-statebase -->")))
            | .id' | sed -n 1p)
          if [ -n "$id" ]; then
            gh api --silent --method PATCH "repos/$GH_REPO/issues/comments/$id" -F body=@"$RUNNER_TEMP/comment.md"
          else
            gh api --silent --method POST "repos/$GH_REPO/issues/$NUMBER/comments" -F body=@"$RUNNER_TEMP/comment.md"
          fi
        env:
          NUMBER: ${{ steps.pull.outputs.number }}
      - name: Say why the results could not be read
        if: always() && steps.write.outputs.unread
        run: |
          # The reason may quote the artifact: no line of it may be a command of the runner's.
          head -c 4000 "$RUNNER_TEMP/merge.log" | LC_ALL=C tr -c '\\n -~' '?' | sed 's/##/#\\\\x23/g; s/^/| /'
          exit 1
"""


def replay_workflow(version: str) -> str:
    """Replays on every pull request, and on the default branch. version: of this package."""
    return REPLAY.replace("VERSION", version)


def comment_workflow(version: str) -> str:
    """Comments on the pull request that was replayed. version: of this package."""
    return COMMENT.replace("VERSION", version)
