/** Ingests into a folder, several operations in one commit, and kills itself with SIGKILL at a step of a commit. */
import { ingestGrouped } from './grouped-ingest.ts'

const [path = '', step = '', killAt = '0'] = process.argv.slice(2)
let left = Number(killAt)
await ingestGrouped(path, 4, {
  onStep: (at) => {
    if (at !== step) return
    left -= 1
    if (left === 0) process.kill(process.pid, 'SIGKILL')
  },
})
