/** A process that keeps two jobs in the log of a folder, ends one of them, and is killed while it has the store open. */
import { openTestJobStore } from './job-store.ts'

const [path = ''] = process.argv.slice(2)
const { jobs } = await openTestJobStore(path)
const shared = { orgId: 'org_a', kind: 'send' }
await jobs.create({ ...shared, id: 'job_open', hash: '0xopen' })
await jobs.create({ ...shared, id: 'job_done', hash: '0xdone' })
await jobs.update({ orgId: 'org_a', id: 'job_done' }, () => ({
  status: 'completed',
  result: { block: 7 },
}))
process.kill(process.pid, 'SIGKILL')
