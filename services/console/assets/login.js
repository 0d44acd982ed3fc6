// The place that a link named stands in the address's fragment, which no server sees: it goes with the form.
document.querySelector("form").action = `/login${location.hash}`;

// The cookie does not come with a link from another site: whoever has signed in already is led on from here.
const answer = await fetch("/login/state");
if (answer.ok && (await answer.json()).signed_in) location.replace(`/${location.hash}`);
