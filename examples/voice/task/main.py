"""Words in a stream of sound: voice activity, log-mel features, a network that knows ten words.

What was heard so far lives in this module: the task's isolate stays from chunk to chunk while it is hot.
After a restart the word that was being said is lost, which a listener would not find strange.
"""

import binascii

import walle

RATE = 8000
CONTEXT, STEP = 32, 256  # samples that the detector sees again, and new ones: 32 ms
BEGINS, ENDS = 0.5, 0.35  # probability of speech
PAUSE = 8  # steps of silence that end a word
MARGIN = 4 * STEP  # sound in front of a word's first step and behind its last one
LONGEST = 2 * RATE
TRIM = 6.0  # as networks.py has it
WINDOW, HOP = 256, 80


class Energy:
    """Where no detector travels with the task: whatever is loud is speech."""

    def __call__(self, step):
        return 1.0 if abs(step).max() > 0.01 else 0.0


class Detector:
    """Silero VAD: a recurrent network that is given 32 samples of context before each step."""

    def __init__(self):
        self.model = walle.engine.load("vad.walle")
        self.rate = walle.Tensor(RATE, "int64")
        self.state = walle.Tensor("float32", [2, 1, 128])
        self.seen = walle.Tensor("float32", [1, CONTEXT + STEP])

    def __call__(self, step):
        self.seen[0, :CONTEXT] = self.seen[0, STEP:].copy()
        self.seen[0, CONTEXT:] = step
        out = self.model.run({"input": self.seen, "state": self.state, "sr": self.rate})
        self.state = out["stateN"]
        return out["output"].max()


class Listener:
    """Sound since the last word, and how far the detector has come in it."""

    def __init__(self):
        self.speech = Detector() if "vad.walle" in walle.engine.resources() else Energy()
        self.features = walle.engine.load("logmel.walle")
        self.words = walle.engine.load("words.walle")
        self.sound = walle.Tensor("float32", [0])
        self.first = 0  # the sample that `sound` begins with
        self.at = 0  # where in it the next step begins
        self.begin = self.quiet = None

    def hear(self, samples):
        """Rows of the words that ended in these samples."""
        self.sound = joined(self.sound, samples)
        found = []
        while self.at + STEP <= self.sound.size:
            probability = self.speech(self.sound[self.at : self.at + STEP])
            self.at += STEP
            if self.begin is None:
                self.listen(probability)
            elif self.over(probability):
                found.append(self.word())
        return found

    def listen(self, probability):
        """Wait for a word; sound that is too old to belong to one is let go."""
        if probability >= BEGINS:
            self.begin, self.quiet = max(0, self.at - STEP - MARGIN), 0
        elif self.at > 8 * MARGIN:
            gone = self.at - 4 * MARGIN
            self.sound = self.sound[gone:].copy()
            self.first += gone
            self.at -= gone

    def over(self, probability):
        """Whether the word has ended."""
        self.quiet = self.quiet + 1 if probability < ENDS else 0
        return self.quiet >= PAUSE or self.at - self.begin >= LONGEST

    def word(self):
        """The word from `begin` on as a row."""
        end = self.at - max(0, self.quiet * STEP - MARGIN)
        begin, self.begin = self.begin, None
        scores = self.words.run({"mels": trimmed(self.mels(self.sound[begin:end]))})["scores"]
        return {
            "word": scores.argmax(),
            "score": scores.max(),
            "start_ms": (self.first + begin) * 1000 // RATE,
            "end_ms": (self.first + end) * 1000 // RATE,
        }

    def mels(self, sound):
        """Features of a stretch of sound; whole eighths of a second are few shapes to plan for."""
        padded = walle.Tensor("float32", [1, -(-sound.size // 1000) * 1000, 1])
        padded[0, : sound.size, 0] = sound
        return self.features.run({"signal": padded})["mels"][: (sound.size - WINDOW) // HOP + 1]


def joined(a, b):
    """One tensor after the other."""
    out = walle.Tensor("float32", [a.size + b.size])
    out[: a.size] = a
    out[a.size :] = b
    return out


def trimmed(mels):
    """Without the quiet frames in front of a word and behind it."""
    loudness = mels.mean(axis=1).tolist()
    least = max(loudness) - TRIM
    heard = [i for i, value in enumerate(loudness) if value > least]
    return mels[max(heard[0] - 3, 0) : heard[-1] + 4].copy()


listener = None


def main(event):
    global listener
    fields = event["fields"]
    pcm = binascii.a2b_base64(fields["pcm"])
    samples = walle.Tensor("int16", [len(pcm) // 2], pcm).astype("float32") / 32768
    if listener is None or fields["first"] == 0:
        listener = Listener()
    found = listener.hear(samples)
    for row in found:
        walle.log.info(f"{row['start_ms']} ms: {row['word']} ({row['score']:.2f})")
    return found
