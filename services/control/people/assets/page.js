for (const button of document.querySelectorAll(".lines button")) {
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent)
    button.textContent = "copied"
  })
}
