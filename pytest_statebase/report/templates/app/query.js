// What is typed into the search box of the overview. Values of one key are alternatives, keys and words must all hold, `-` excludes.
// A value in quotes is a whole one (`tool:"refund"`), empty quotes are for what has none (`owner:""`).

const FIELDS = {
  verdict: (one) => Object.keys(one.verdicts),
  agent: (one) => [one.agent],
  session: (one) => [one.session, one.name],
  tool: (one) => one.tools,
  kind: (one) => one.kinds,
  owner: (one) => [one.owner],
  group: (one) => [one.group],
  cassette: (one) => [one.cassette],
  cause: (one) => (one.causes || []).map((at) => causeName(store.index.causes[at])),
  base: (one) => [one.base],
};
const KEYS = Object.keys(FIELDS);
// `verdict:changed` is not to find what is unchanged.
const WHOLE = new Set(["verdict", "kind", "group", "base"]);
const TERM = new RegExp(`\\s*(-?)(?:(${KEYS.join("|")}):)?(?:"((?:\\\\.|[^"\\\\])*)"?|(\\S*))`, "ysu");

const causeName = (cause) => cause.kind + " " + cause.path;

// Texts as {key, value, not, whole}; what is no key is part of a word.
function terms(query) {
  const found = [];
  TERM.lastIndex = 0;
  while (TERM.lastIndex < query.length) {
    const [, not, key, quoted, word] = TERM.exec(query);
    const whole = quoted !== undefined;
    const value = whole ? quoted.replace(/\\(.)/gsu, "$1") : word;
    if (value || (whole && key)) found.push({ key: key || null, value, not: not === "-", whole });
  }
  return found;
}

function written(found) {
  return found.map((term) => (term.not ? "-" : "") + (term.key ? term.key + ":" : "") + (term.whole ? quotedTerm(term.value) : term.value)).join(" ");
}

const quotedTerm = (text) => '"' + text.replace(/["\\]/g, "\\$&") + '"';

function holds(term, one) {
  const sought = term.value.toLowerCase();
  if (!term.key) return haystack(one).includes(sought);
  const values = FIELDS[term.key](one).filter(Boolean).map((value) => String(value).toLowerCase());
  if (!sought) return !values.length;
  return values.some((value) => (term.whole || WHOLE.has(term.key) ? value === sought : value.includes(sought)));
}

function haystack(one) {
  one.hay ??= [one.name, one.cassette, one.title, one.session, one.agent, one.owner, one.why, one.text, one.tools.join("\n"),
    ...(one.causes || []).map((at) => store.index.causes[at].pairs.map((pair) => pair.print).join(" "))].join("\n").toLowerCase();
  return one.hay;
}

// Whether a session is among what a query asks for.
function matcher(query) {
  const found = terms(query);
  const must = found.filter((term) => !term.not && !term.key);
  const never = found.filter((term) => term.not);
  const any = KEYS.map((key) => found.filter((term) => !term.not && term.key === key)).filter((same) => same.length);
  return (one) => must.every((term) => holds(term, one)) && !never.some((term) => holds(term, one)) &&
    any.every((same) => same.some((term) => holds(term, one)));
}

const has = (query, key, value) => terms(query).some((term) => term.key === key && !term.not && term.value === value);

// The query of a button that is pressed: its value alone, or taken back; beside the others of its key where `more` is held.
function pressed(query, key, value, more) {
  const found = terms(query);
  const rest = found.filter((term) => term.key !== key || term.not || (more && term.value !== value));
  const alone = found.filter((term) => term.key === key && !term.not).length === 1;
  const back = has(query, key, value) && (more || alone);
  return written(back ? rest : [...rest, { key, value, not: false, whole: !WHOLE.has(key) || /\W/.test(value.replaceAll("-", "")) }]);
}

// What the text could go on with: keys, then the values of a key.
function completions(query) {
  const [, start, last] = /^(.*?)(\S*)$/s.exec(query);
  const found = /^(-?)(?:(\w+):)?"?([^"]*)$/.exec(last);
  if (!found) return [];
  const [, not, key, begun] = found;
  if (!key) return KEYS.filter((one) => one.startsWith(begun)).map((one) => start + not + one + ":");
  if (!FIELDS[key]) return [];
  const values = new Set(store.index.sessions.flatMap(FIELDS[key]).filter(Boolean));
  return [...values].filter((value) => String(value).toLowerCase().startsWith(begun.toLowerCase())).slice(0, 40)
    .map((value) => start + not + key + ":" + (WHOLE.has(key) ? value : quotedTerm(String(value))));
}
