// Random portraits by six hands, with captions: a line of JSON each, {"svg": …, "text": …}.
//
//   node draw_avatars.mjs COUNT SEED
//
// Run by fetch_avatars.py, where @dicebear/core and @dicebear/collection are installed.
import { createAvatar } from "@dicebear/core";
import * as styles from "@dicebear/collection";

const SKIN = { light: ["ffdbb4", "f9c9b6"], medium: ["d08b5b", "e0a070"], brown: ["ae5d29", "9e5b33"], dark: ["694d3d", "5c3829"] };
const HAIR = {
  black: "2c1b18", brown: "724133", blond: "e9c46a", red: "c93305", orange: "f2853c", grey: "a8a8a8",
  white: "f2f2f2", pink: "f28cb1", blue: "3e7bd8", green: "3f9e5f", purple: "7b4fc9",
};
const CLOTHES = {
  red: "e24553", orange: "f3883a", yellow: "f7cf48", green: "5cb85c", blue: "456dff", purple: "7555ca",
  pink: "f58ab5", white: "f4f4f4", black: "33343a", grey: "9aa0a6",
};
const BACKGROUND = { blue: "cfe3ff", pink: "ffd9e6", yellow: "fff0bf", green: "d5f2d8", purple: "e4d9fb", orange: "ffe0c7" };
// A head of hair or what covers it, by the name that a style has for it; {} is its colour.
const HEADS = {
  personas: {
    long: "long {} hair", sideShave: "shaved {} hair", shortCombover: "short {} hair", curlyHighTop: "curly {} hair",
    bobCut: "{} bob", curly: "curly {} hair", pigtails: "{} pigtails", curlyBun: "{} bun", buzzcut: "short {} hair",
    bobBangs: "{} bob", bald: "bald", balding: "balding {} hair", cap: "{} cap", bunUndercut: "{} bun",
    fade: "short {} hair", beanie: "{} beanie", straightBun: "{} bun", extraLong: "long {} hair",
    shortComboverChops: "short {} hair", mohawk: "{} mohawk",
  },
  micah: {
    fonze: "short {} hair", mrT: "{} mohawk", dougFunny: "balding {} hair", mrClean: "bald", dannyPhantom: "short {} hair",
    full: "long {} hair", turban: "{} turban", pixie: "short {} hair",
  },
  toonHead: {
    sideComed: "short {} hair", undercut: "short {} hair", spiky: "spiky {} hair", bun: "{} bun",
  },
  openPeeps: {
    afro: "{} afro", bangs: "{} bob", bangs2: "{} bob", bantuKnots: "{} buns", bun: "{} bun", bun2: "{} bun", buns: "{} buns",
    cornrows: "{} braids", cornrows2: "{} braids", dreads1: "{} dreadlocks", dreads2: "{} dreadlocks", flatTop: "short {} hair",
    hatBeanie: "{} beanie", hatHip: "{} hat", hijab: "{} hijab", long: "long {} hair", longAfro: "{} afro",
    longBangs: "long {} hair", longCurly: "curly {} hair", medium1: "{} bob", medium2: "{} bob", medium3: "{} bob",
    mohawk: "{} mohawk", mohawk2: "{} mohawk", noHair1: "bald", noHair2: "bald", pomp: "short {} hair",
    short1: "short {} hair", short2: "short {} hair", short3: "short {} hair", short4: "short {} hair",
    short5: "short {} hair", turban: "{} turban", twists: "{} dreadlocks", twists2: "{} dreadlocks",
  },
  bigSmile: {
    shortHair: "short {} hair", mohawk: "{} mohawk", wavyBob: "{} bob", bowlCutHair: "short {} hair", curlyBob: "curly {} hair",
    straightHair: "long {} hair", braids: "{} braids", shavedHead: "bald", bunHair: "{} bun", froBun: "{} bun",
    bangs: "long {} hair", halfShavedHead: "shaved {} hair", curlyShortHair: "curly {} hair",
  },
  miniavs: {
    balndess: "balding {} hair", slaughter: "shaved {} hair", ponyTail: "{} ponytail", long: "long {} hair", curly: "curly {} hair",
    stylish: "short {} hair", elvis: "short {} hair", classic02: "short {} hair", classic01: "short {} hair",
  },
};
const MOUTHS = {
  personas: { smile: "smiling", frown: "sad", surprise: "surprised", bigSmile: "laughing", smirk: "smirking", lips: "lipstick" },
  micah: {
    surprised: "surprised", laughing: "laughing", smile: "smiling", sad: "sad", pucker: "kissing", frown: "sad",
    smirk: "smirking",
  },
  toonHead: { laugh: "laughing", angry: "angry", agape: "surprised", smile: "smiling", sad: "sad" },
  openPeeps: {
    angryWithFang: "angry", awe: "surprised", calm: "calm", concerned: "sad", cute: "smiling", eyesClosed: "sleeping",
    fear: "scared", rage: "angry", serious: "serious", smile: "smiling", smileBig: "laughing", smileLOL: "laughing",
    tired: "sad", veryAngry: "angry",
  },
  bigSmile: { openedSmile: "laughing", unimpressed: "serious", gapSmile: "laughing", openSad: "sad", teethSmile: "laughing", awkwardSmile: "smiling" },
  miniavs: { default: "smiling", missingTooth: "smiling" },
};
const BEARDS = {
  personas: { beardMustache: "beard", pyramid: "moustache", walrus: "moustache", goatee: "goatee", shadow: "stubble" },
  micah: { beard: "beard", scruff: "stubble" },
  toonHead: { moustacheTwirl: "moustache", fullBeard: "beard", chin: "goatee", chinMoustache: "goatee", longBeard: "beard" },
  openPeeps: { full: "beard", full2: "beard", full3: "beard", goatee1: "goatee", moustache1: "moustache", moustache2: "moustache", moustache4: "moustache" },
  miniavs: { pencilThin: "moustache", horshoe: "moustache", freddy: "moustache" },
};
const WORN = {
  openPeeps: { eyepatch: "eyepatch", glasses: "glasses", glasses2: "glasses", glasses3: "glasses", sunglasses: "sunglasses", sunglasses2: "sunglasses" },
  bigSmile: { catEars: "cat ears", glasses: "glasses", sailormoonCrown: "crown", sleepMask: "sleep mask", sunglasses: "sunglasses", faceMask: "mask" },
};
const NAMES = {
  personas: "personas", micah: "micah", toonHead: "toon head", openPeeps: "open peeps", bigSmile: "big smile", miniavs: "miniavs",
};
const MOST_WORDS = 14;

// mulberry32: the same numbers everywhere, so that a seed means the same pictures.
function randomness(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function portrait(random, number) {
  const pick = (list) => list[Math.floor(random() * list.length)];
  const entry = (table) => pick(Object.entries(table));
  const maybe = (chance) => random() < chance;
  const style = pick(Object.keys(NAMES));
  const phrases = [];
  const options = { seed: String(number), size: 64 };
  const set = (name, value) => (options[name] = [value]);

  const [skin, tones] = entry(SKIN);
  const tone = pick(tones);
  set(style === "micah" ? "baseColor" : "skinColor", tone);
  phrases.push(`${skin} skin`);

  const [colour, hex] = entry(HAIR);
  const [head, words] = entry(HEADS[style]);
  set(style === "openPeeps" ? "head" : "hair", head);
  set(style === "openPeeps" ? "headContrastColor" : "hairColor", hex);
  let hair = words;
  if (style === "toonHead") {
    const rear = head !== "bun" && maybe(0.4);
    options.rearHairProbability = rear ? 100 : 0;
    if (rear) {
      const [length, long] = entry({ longStraight: "long {} hair", longWavy: "long {} hair", shoulderHigh: "{} bob", neckHigh: "{} bob" });
      set("rearHair", length);
      hair = long;
    }
  }
  const hairPhrase = phrases.push(hair) - 1;

  const [mouth, mood] = entry(MOUTHS[style]);
  set(style === "openPeeps" ? "face" : "mouth", mouth);
  phrases.push(mood);

  const bearded = BEARDS[style] && maybe(0.25);
  const beard = { toonHead: "beard", miniavs: "mustache" }[style] ?? "facialHair";
  options[`${beard}Probability`] = bearded ? 100 : 0;
  if (bearded) {
    const [kind, word] = entry(BEARDS[style]);
    set(beard, kind);
    if (style === "micah") set("facialHairColor", hex);
    phrases.push(word);
  }

  if (style === "personas") {
    const [eyes, word] = maybe(0.35) ? entry({ glasses: "glasses", sunglasses: "sunglasses", wink: "winking" }) : ["open", ""];
    set("eyes", eyes);
    set("nose", pick(["mediumRound", "smallRound"]));
    phrases.push(word);
  } else if (WORN[style]) {
    const worn = maybe(0.35);
    options.accessoriesProbability = worn ? 100 : 0;
    if (worn) {
      const [kind, word] = entry(WORN[style]);
      set("accessories", kind);
      phrases.push(word);
    }
  } else if (style === "micah" || style === "miniavs") {
    const worn = maybe(0.35);
    options.glassesProbability = worn ? 100 : 0;
    if (worn) phrases.push("glasses");
    if (style === "micah") {
      set("glassesColor", "33343a");
      set("eyebrowsColor", "2c1b18");
      const earrings = maybe(0.2);
      options.earringsProbability = earrings ? 100 : 0;
      set("earringColor", "f4d150");
      if (earrings) phrases.push("earrings");
    }
  }
  if (style === "openPeeps") {
    const masked = !bearded && maybe(0.05);
    options.maskProbability = masked ? 100 : 0;
    set("mask", "medicalMask");
    if (masked) phrases.push("mask");
  }

  const clothes = { micah: "shirtColor", toonHead: "clothesColor", miniavs: "bodyColor", personas: "clothingColor", openPeeps: "clothingColor" }[style];
  if (clothes) {
    const [name, shade] = entry(CLOTHES);
    set(clothes, shade);
    phrases.push(`${name} shirt`);
  }
  if (maybe(0.7)) {
    const [name, shade] = entry(BACKGROUND);
    set("backgroundColor", shade);
    phrases.push(`${name} background`);
  }
  phrases.push(`style ${NAMES[style]}`);
  const svg = createAvatar(styles[style], options).toString();
  // Most heads of Open Peeps are black, whatever colour is asked for.
  phrases[hairPhrase] = hair.replace("{}", svg.includes(hex) ? colour : "black");
  return { svg, text: caption(phrases.filter(Boolean), random) };
}

// Some of the phrases in any order, so that any of them can begin a prompt.
function caption(phrases, random) {
  const said = phrases.filter(() => random() < 0.8);
  const shuffled = (said.length ? said : phrases).map((phrase) => [random(), phrase]).sort((a, b) => a[0] - b[0]);
  const kept = [];
  let words = 0;
  for (const [, phrase] of shuffled) {
    words += phrase.split(" ").length;
    if (words > MOST_WORDS) break;
    kept.push(phrase);
  }
  return kept.join(", ");
}

const [count, seed] = process.argv.slice(2).map(Number);
const random = randomness(seed);
for (let number = 0; number < count; number++) process.stdout.write(JSON.stringify(portrait(random, number)) + "\n");
