import type { JobBody, JobEventBody } from '../../schemas/api/job.ts'
import type { Job } from '../jobs/job.ts'

/** A job as it is answered. */
export const jobBody = ({ status, result }: Job): JobBody => ({ state: status, result })

/** A change of a job as JSON. */
export const jobEventBody = (job: Job): JobEventBody => ({
  id: job.revision,
  data: {
    id: job.hash || job.id,
    status: job.status,
    success: job.status === 'completed',
    hash: job.hash,
    ...(job.error !== '' && { error: job.error }),
    ...(job.message !== '' && { message: job.message }),
    result: job.result,
  },
})

/** A change of a job as a server-sent event; JSON has no line ends of its own. */
export const jobEventText = (job: Job): string => {
  const { id, data } = jobEventBody(job)
  return `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`
}
