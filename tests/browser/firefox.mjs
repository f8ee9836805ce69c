// Looks at a report in Firefox: node firefox.mjs PUPPETEER FIREFOX PAGE PATH… prints as JSON what is at each address.
// Drives it by WebDriver BiDi, which Firefox itself speaks: no driver beside the browser is needed.
import { pathToFileURL } from "node:url";

const [puppeteerPath, executablePath, page, ...addresses] = process.argv.slice(2);
const { default: puppeteer } = await import(pathToFileURL(puppeteerPath + "/lib/esm/puppeteer/puppeteer-core.js"));
const browser = await puppeteer.launch({ browser: "firefox", executablePath, headless: true });
const told = { version: await browser.version(), complaints: [], requests: [], seen: [] };
try {
  const tab = await browser.newPage();
  tab.on("console", (message) => told.complaints.push(message.text()));
  tab.on("pageerror", (error) => told.complaints.push(error.message));
  tab.on("request", (request) => told.requests.push(request.url()));
  for (const address of addresses) {
    await tab.goto("about:blank");
    await tab.goto(page + address);
    await tab.waitForSelector("#app h1");
    told.seen.push(await tab.evaluate((id) => ({
      title: document.title,
      text: document.getElementById("app").innerText,
      wide: document.documentElement.scrollWidth > innerWidth,
      named: id ? document.activeElement.id === id : null,
    }), address.slice(1)));
  }
  await tab.goto("about:blank");
  await tab.goto(page);
  await tab.waitForSelector("#app h1");
  const titles = [];
  for (const act of [() => tab.keyboard.press("t"), () => tab.goBack(), () => tab.goForward()]) {
    const before = await tab.title();
    await act();
    await tab.waitForFunction((old) => document.title !== old, {}, before);
    titles.push(await tab.title());
  }
  told.titles = titles;
} finally {
  await browser.close();
}
process.stdout.write(JSON.stringify(told));
