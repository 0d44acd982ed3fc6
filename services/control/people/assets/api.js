const place = document.getElementById("swagger")
const through = `/docs/api/${place.dataset.product}`

window.ui = SwaggerUIBundle({
  domNode: place,
  url: `${through}/openapi.json`,
  docExpansion: "none",
  filter: true,
  displayRequestDuration: true,
  validatorUrl: null,
  // A product names its vendor's address; here every request goes to this page's own server, which passes it on.
  requestInterceptor: (request) => {
    const address = new URL(request.url, location.href)
    if (!address.pathname.startsWith(`${through}/`)) request.url = through + address.pathname + address.search
    request.headers.Authorization = `Bearer ${document.getElementById("credential").value}`
    return request
  },
})
