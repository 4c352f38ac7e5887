import { type Static, Type } from 'typebox'
import { namedObject } from './common.ts'

/** Path of a job. */
export const JobParams = Type.Object({
  id: Type.String({
    minLength: 1,
    maxLength: 128,
    description: 'Id of the job',
    examples: ['job_01JD0000000000000000000000'],
  }),
})

const Status = Type.Enum(['pending', 'completed', 'failed', 'error'], {
  type: 'string',
  description:
    'pending until it has ended; failed: without what was wanted, error: it could not be done',
})
const Result = Type.Record(Type.String(), Type.Unknown(), { description: 'What came of it so far' })

/** Answer of GET `/job/{id}`. */
export const JobBody = namedObject('Job', { state: Status, result: Result })
export type JobBody = Static<typeof JobBody>

/** A job as its followers are told of it. */
const JobUpdateBody = namedObject('JobUpdate', {
  id: Type.String({ description: 'Transaction hash or signature, else the id of the job' }),
  status: Status,
  success: Type.Boolean({ description: 'It has completed' }),
  hash: Type.String({ description: 'Transaction hash or signature, empty where there is none' }),
  error: Type.Optional(Type.String()),
  message: Type.Optional(Type.String()),
  result: Result,
})

/** A change of a job, where it is answered as JSON. */
export const JobEventBody = namedObject('JobEvent', {
  id: Type.Integer({ minimum: 1, description: 'Number of the change' }),
  data: JobUpdateBody,
})
export type JobEventBody = Static<typeof JobEventBody>

/** Answers of GET `/job/{id}/streaming`. */
export const JOB_STREAM_RESPONSES = {
  200: {
    description: 'Every change until the job has ended',
    content: {
      'text/event-stream': {
        schema: Type.String({
          title: 'JobEvents',
          description:
            'Server-sent events: id is the number of the change, data a JobUpdate as JSON',
        }),
      },
      'application/json': { schema: JobEventBody },
    },
  },
  204: {
    type: 'null',
    description: 'The caller has the last change: Last-Event-ID names it',
  },
}
