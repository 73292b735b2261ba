import { ask } from './api.js';

// saveSVG saves a picture of this page as one file that needs no other.
export async function saveSVG(svg, name) {
  const response = await fetch('/lineage/assets/picture.css');
  const copy = svg.cloneNode(true);
  copy.removeAttribute('style'); // it fits the picture to the page
  const style = document.createElementNS(copy.namespaceURI, 'style');
  style.textContent = await response.text();
  copy.prepend(style);
  save(new XMLSerializer().serializeToString(copy), 'image/svg+xml', `${name}.svg`);
}

// saveMermaid saves the lineage of a job as a Mermaid flowchart.
export async function saveMermaid(id, name) {
  const { lineage } = await ask('query($id: ID!) { lineage(jobRecordId: $id) { mermaid } }', { id });
  save(lineage.mermaid, 'text/vnd.mermaid', `${name}.mmd`);
}

// saveProvenance saves the lineage of a job in the W3C's provenance vocabulary.
export async function saveProvenance(id, name) {
  const { lineage } = await ask('query($id: ID!) { lineage(jobRecordId: $id) { provenance } }', { id });
  save(lineage.provenance, 'application/ld+json', `${name}.jsonld`);
}

function save(text, type, name) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  Object.assign(document.createElement('a'), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // the browser may still be asking where to
}
