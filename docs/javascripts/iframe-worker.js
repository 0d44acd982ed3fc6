// A page that was opened from the disk may not start a worker. This one runs the worker's script in a hidden frame, so
// that the search of these pages works there, too. Pages that come from a server keep the browser's own Worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.appendChild(this.frame)
      const inside = this.frame.contentWindow
      inside.document.open()
      inside.document.write("<!doctype html><html><body></body></html>")
      inside.document.close()
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      const load = (address) =>
        new Promise((resolve) => {
          const script = inside.document.createElement("script")
          script.src = address
          script.onload = resolve
          inside.document.body.appendChild(script)
        })
      // Scripts of a worker load others in the middle of a line; here they come one after the other.
      inside.importScripts = (...addresses) =>
        addresses.reduce((before, address) => before.then(() => load(address)), Promise.resolve())
      this.ready = load(url)
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
