// What is typed into the search box of the overview. Values of one key are alternatives, keys and words must all hold, `-` excludes.
// A value in quotes is a whole one (`tool:"refund"`), empty quotes are for what has none (`owner:""`).

const FIELDS = {
  verdict: (one) => Object.keys(one.verdicts),
  agent: (one) => [one.agent],
  session: (one) => [one.session, one.name],
  tool: (one) => one.tools,
  kind: (one) => one.kinds,
  owner: (one) => [one.owner],
  group: (one) => [one.group, groupName(one.group)],
  cassette: (one) => [one.cassette],
  cause: (one) => (one.causes || []).map((at) => causeName(store.index.causes[at])),
  base: (one) => [one.base],
};
const KEYS = Object.keys(FIELDS);
// `verdict:changed` is not to find what is unchanged.
const WHOLE = new Set(["verdict", "kind", "group", "base"]);
const TERM = new RegExp(`\\s*(-?)(?:(${KEYS.join("|")}):)?(?:"((?:\\\\.|[^"\\\\])*)("?)|(\\S*))`, "iys");

const causeName = (cause) => cause.kind + " " + cause.path;

// Terms as {key, value, not, whole, raw}; a key that is none of ours is part of a word. An open quote is one that is still typed.
function termsOf(query) {
  const found = [];
  TERM.lastIndex = 0;
  while (TERM.lastIndex < query.length) {
    const [raw, not, key, inside, closed, word] = TERM.exec(query);
    const value = word ?? outOfQuotes(inside);
    if (value || (closed && key)) found.push({ key: key?.toLowerCase(), value, not: not === "-", whole: Boolean(closed), raw: raw.trim() + (inside !== undefined && !closed ? '"' : "") });
  }
  return found;
}

const queryText = (found) => found.map((term) => term.raw).join(" ");
// A search box has no lines, an address no half characters.
const inQuotes = (text) => '"' + text.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\r", "\\r") + '"';
const outOfQuotes = (text) => text.replace(/\\(.)/gsu, (_, one) => ({ n: "\n", r: "\r" })[one] ?? one);
// `newly-failing` and `newly failing` are the same: names of our own.
const alike = (value, key) => String(value).replace(/\p{Cs}/gu, "\ufffd").toLowerCase().replaceAll(WHOLE.has(key) ? "-" : " ", " ");

function termHolds({ key, value: wanted, whole }, one) {
  const sought = alike(wanted, key);
  if (!key) return hayOf(one).includes(sought);
  const values = FIELDS[key](one).filter(Boolean).map((value) => alike(value, key));
  if (!sought) return !values.length;
  return values.some((value) => (whole || WHOLE.has(key) ? value === sought : value.includes(sought)));
}

function hayOf(one) {
  one.hay ??= alike([one.name, one.cassette, one.title, one.session, one.agent, one.owner, one.why, one.text, ...one.tools, ...(one.prints || [])].join("\n"));
  return one.hay;
}

// Whether a session is among what a query asks for.
function queryMatcher(query) {
  const found = termsOf(query);
  const must = found.filter((term) => !term.not && !term.key);
  const never = found.filter((term) => term.not);
  const any = KEYS.map((key) => found.filter((term) => !term.not && term.key === key)).filter((same) => same.length);
  return (one) => must.every((term) => termHolds(term, one)) && !never.some((term) => termHolds(term, one)) &&
    any.every((same) => same.some((term) => termHolds(term, one)));
}

const asksFor = (query, key, value) => termsOf(query).some((term) => term.key === key && !term.not && alike(term.value, key) === alike(value, key));

// The query of a button that is pressed: its value alone, or taken back; beside the others of its key where `more` is held.
function queryAfter(query, key, value, more) {
  const found = termsOf(query);
  const rest = found.filter((term) => term.key !== key || term.not || (more && alike(term.value, key) !== alike(value, key)));
  const alone = found.filter((term) => term.key === key && !term.not).length === 1;
  const back = asksFor(query, key, value) && (more || alone);
  return queryText(back ? rest : [...rest, { raw: termText(key, value) }]);
}

const termText = (key, value) => key + ":" + (WHOLE.has(key) && /^[\w-]+$/.test(value) ? value : inQuotes(value));

// Why nothing is found, where that is for a key or a value that there is not.
function whyNothing(query) {
  for (const { key, value, raw } of termsOf(query)) {
    const word = !key && /^\w+(?=:)/.exec(value);
    if (word) return ` There is no key ${word}: ${KEYS.join(", ")}.`;
    if (key && !store.index.sessions.some(queryMatcher(raw))) return ` There is ${queryOffers(key + ":").slice(0, 12).join(", ") || "no " + key}.`;
  }
  return "";
}

// What the text could go on with: keys, then the values of a key.
function queryOffers(query) {
  const [, start, last] = /^(.*?)(\S*)$/s.exec(query);
  const found = /^(-?)(?:(\w+):)?"?([^"]*)$/.exec(last);
  if (!found) return [];
  const [, not, typed, begun] = found;
  const key = typed?.toLowerCase();
  if (!key) return KEYS.filter((one) => one.startsWith(begun)).map((one) => start + not + one + ":");
  if (!KEYS.includes(key)) return [];
  const values = new Set(store.index.sessions.flatMap(FIELDS[key]).filter(Boolean).map(String));
  return [...values].filter((value) => value.toLowerCase().startsWith(begun.toLowerCase())).slice(0, 40)
    .map((value) => start + not + termText(key, value));
}
