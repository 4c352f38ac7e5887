#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

// A clone runs the source through tsx; the built image holds main.js beside this file.
const isBuilt = existsSync(new URL('./main.js', import.meta.url))
if (!isBuilt) {
  const { register } = await import('tsx/esm/api')
  register()
}
const load = (name) => import(new URL(`./${name}.${isBuilt ? 'js' : 'ts'}`, import.meta.url).href)
if (isMainThread) {
  const { main } = await load('main')
  process.exitCode = await main(process.argv.slice(2))
  // What did not stop in its time, such as a client of a server that is gone, keeps no process alive.
  setTimeout(() => process.exit(), 2_000).unref()
} else {
  const { serveChains } = await load('standalone/simulator-thread')
  await serveChains()
}
