import { parentPort, workerData } from 'node:worker_threads'
import { PROCESS_PIPELINE } from './process-pipeline.ts'
import { serveLanes } from './runtime/serve-lanes.ts'
import { makeThreadCodec } from './runtime/thread-codec.ts'

if (parentPort === null) throw new Error('this module is the beginning of a thread')
serveLanes({
  port: parentPort,
  stages: new Map([[PROCESS_PIPELINE.app, PROCESS_PIPELINE]]),
  openCodec: makeThreadCodec(workerData, parentPort),
})
