// openOnSubmit makes the search box open the page of the job whose id is in it.
export function openOnSubmit(form) {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const id = form.elements.id.value.trim().toLowerCase();
    if (id) location.assign(`/lineage/${encodeURIComponent(id)}`);
  });
}
