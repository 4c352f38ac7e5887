#!/usr/bin/env node
import { existsSync } from 'node:fs'

// A clone runs the source through tsx; the built image holds main.js beside this file.
const built = new URL('./main.js', import.meta.url)
if (!existsSync(built)) {
  const { register } = await import('tsx/esm/api')
  register()
}
const { main } = await import(
  existsSync(built) ? built.href : new URL('./main.ts', import.meta.url).href
)
process.exitCode = await main(process.argv.slice(2))
// What did not stop in its time, such as a client of a server that is gone, keeps no process alive.
setTimeout(() => process.exit(), 2_000).unref()
