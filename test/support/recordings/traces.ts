import { readFileSync } from 'node:fs'
import { parseEvmRecording, recordingJson } from './ethereum.ts'

const FOLDER = new URL('../../fixtures/traces/', import.meta.url)

/** A recorded file of calls as parsed JSON. */
export const recordedTraces = (name: string): Record<string, unknown> =>
  JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'))

/** Whole recorded blocks of which calls are recorded too. */
export const TRACED_BLOCKS = ['block_17148268.json', 'block_17153025.json'] as const

/** A recorded block with its recorded calls. */
export const recordedBlockWithTraces = (name: (typeof TRACED_BLOCKS)[number]) =>
  parseEvmRecording({ ...recordingJson(name), ...recordedTraces(name) }).block
